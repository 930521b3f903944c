// Waits for a condition without a deadline of its own, because machines differ; the timeout of the test ends it.
import { setTimeout as sleep } from 'node:timers/promises'

const lookAgainMs = { first: 20, last: 200 }

/** Resolves to the first result of `attempt` that is not undefined. Tries less often the longer it takes, because attempts cost processor time. */
export async function eventually<T>(attempt: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const beginMs = performance.now()
  for (;;) {
    const result = await attempt()
    if (result !== undefined) return result
    const waitedMs = performance.now() - beginMs
    await sleep(Math.min(Math.max(lookAgainMs.first, waitedMs / 10), lookAgainMs.last))
  }
}

/** Resolves once `check` is true. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => (await check()) || undefined)
}
