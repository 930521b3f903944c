// Waits for a condition without a deadline of its own, because machines differ; the timeout of the test ends it.
import { setTimeout as sleep } from 'node:timers/promises'

const lookAgainMs = 20

/** Resolves to the first result of `attempt` that is not undefined. */
export async function eventually<T>(attempt: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const result = await attempt()
    if (result !== undefined) return result
    await sleep(lookAgainMs)
  }
}

/** Resolves once `check` is true. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => (await check()) || undefined)
}
