"""A worker in a process of its own, with every setting as it comes, that says when its jobs start.

Before it does, it says nothing: `App` takes the URL from `OXMILL_URL`.
"""

import time

from oxmill import App

app = App(mode="volatile")  # a server of tests is not safe to work on


@app.task(name="tell")
async def tell() -> None:
    print(time.monotonic(), flush=True)


if __name__ == "__main__":
    app.worker().run()
