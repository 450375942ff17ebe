"""Which bells an operation rings once the store has done it. Shared by all drivers."""

from __future__ import annotations

from typing import Any

from oxmill.model.claim import Claimed
from oxmill.model.info import Ordered, Swept
from oxmill.model.job import Enqueue, EnqueueOne, Verdict
from oxmill.model.news import NO_NEWS, News
from oxmill.model.query import Steered
from oxmill.model.rule import RulesPut
from oxmill.model.schedule import Fire, Fired
from oxmill.model.settings import PutSettings
from oxmill.model.settlement import Ruling, Settle
from oxmill.model.state import TERMINAL, State
from oxmill.store.doorbell import CONTROL, SWEEP, ended, work


def topics_after(request: object, answer: Any) -> set[str]:
    """The topics to ring after `answer` was given to `request`."""
    # Claims first, most of which leave nothing to tell: their jobs wait for this before they start.
    return _claimed(answer) if type(answer) is Claimed else _asked(request, answer)


def _claimed(answer: Claimed) -> set[str]:
    if not answer.gained and answer.news is NO_NEWS:
        return set()
    return {work(q) for q in answer.gained} | _set_off(answer.news)


def _asked(request: object, answer: Any) -> set[str]:
    match request:
        case Enqueue(jobs=jobs) | EnqueueOne(jobs=jobs):
            return _enqueued(jobs, answer)
        case Settle():
            return _settled(answer)
        case Fire(jobs=jobs):
            return _enqueued(jobs, answer.answers) if isinstance(answer, Fired) else set()
        case PutSettings(queue=queue):
            return {work(queue)}
        case (first, second):
            return topics_after(first, answer[0]) | topics_after(second, answer[1])
        case _:
            return _changed(answer)


def _enqueued(jobs: Any, answers: Any) -> set[str]:
    topics = {
        work(job.queue)
        for job, answer in zip(jobs, answers, strict=False)
        if answer.state is State.WAITING and answer.verdict is not Verdict.DUPLICATE
    }
    for answer in answers:
        topics.update(map(work, answer.gained))
        topics.update(_set_off(answer.news))
    return topics


def _settled(answers: Any) -> set[str]:
    topics: set[str] = set()
    for answer in answers:
        if answer.gained:  # the last answer also tells what all of them have set off
            topics.update(map(work, answer.gained))
        if answer.news is not NO_NEWS:
            topics.update(_set_off(answer.news))
        if answer.ruling is not Ruling.WON:
            continue
        if answer.state in TERMINAL:
            topics.add(ended(answer.id))
        elif answer.state is State.WAITING and answer.queue is not None:
            topics.add(work(answer.queue))
    return topics


def _set_off(news: News) -> set[str]:
    topics = {ended(each) for each in news.ended}
    if news.asked:
        topics.add(CONTROL)
    if news.left:
        topics.add(SWEEP)
    return topics


def _changed(answer: Any) -> set[str]:
    match answer:
        case Swept():
            topics = {work(q) for q in answer.queues} | {ended(i) for i in answer.ended}
            return topics | _set_off(answer.news)
        case RulesPut():
            return {work(q) for q in answer.queues}
        case Steered():
            topics = {work(q) for q in answer.queues} | {ended(i) for i in answer.ids}
            topics |= _set_off(answer.news)
            return topics | {CONTROL} if answer.asked else topics
        case Ordered():
            return {CONTROL}
        case _:
            return set()
