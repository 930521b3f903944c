// Engines with a clock that tests set.
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import type { Test } from 'tap'
import { denseField, openDirectory, sparseField } from '../search/rig.ts'

export const hourMs = 3_600_000

/** Both clocks, in milliseconds. `pass` moves them together. */
export class TestClock {
  ms = Date.parse('2030-01-01T00:00:00Z')
  steadyMs = 1_000

  now(): number {
    return this.ms
  }

  monotonic(): number {
    return this.steadyMs
  }

  pass(ms: number): void {
    this.ms += ms
    this.steadyMs += ms
  }
}

export async function openAt(clock: TestClock, dataDir: string, options: Partial<EngineOptions> = {}): Promise<Engine> {
  return openEngine({ dataDir, threads: 1, fsync: 'none', clock, ...options }, { expiryEveryMs: 5 })
}

export async function openThings(t: Test, options: Partial<EngineOptions> = {}, definition: object = {}) {
  const clock = new TestClock()
  const dataDir = await openDirectory(t)
  const engine = await openAt(clock, dataDir, options)
  t.teardown(() => engine.close())
  const fields = [denseField(4), sparseField()]
  const things = await engine.database().createCollection({ name: 'things', fields, ...definition })
  return { clock, dataDir, engine, things }
}

export const at = (n: number) => ({ dense: [n, 0, 0, 0], words: { indices: [1, n + 2], values: [1, n + 1] } })

/** Resolves when the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
