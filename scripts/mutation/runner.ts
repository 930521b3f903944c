// Runs test files on one changed source file: a mutant or a planted bug. The source on disk never changes.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const hook = new URL('./hook.mjs', import.meta.url).href

/** A changed source may make a test as slow as it likes: a test gets this many times its usual time, and so many milliseconds more. */
const slower = 5
const moreMs = 10_000
const measureMsMax = 600_000

const scratches = new Set<string>()
process.on('exit', () => {
  for (const scratch of scratches) rmSync(scratch, { recursive: true, force: true })
})

export type End = 'passed' | 'killed' | 'timeout'

export class Runner {
  readonly #tests: readonly string[]
  readonly #scratch = mkdtempSync(path.join(os.tmpdir(), 'annal-mutants-'))
  readonly #usualMs = new Map<string, number>()
  #files = 0

  /** Paths from the top of the repository. */
  constructor(tests: readonly string[]) {
    this.#tests = tests
    scratches.add(this.#scratch)
  }

  /** Measures each test with the source unchanged. Throws when one fails. */
  async measure(): Promise<void> {
    for (const test of this.#tests) {
      if (this.#usualMs.has(test)) continue
      // The first run fills the compile cache.
      for (let round = 0; round < 2; round++) {
        const began = performance.now()
        const end = await this.#run(test, measureMsMax)
        if (end !== 'passed') throw new Error(`${test} ends with "${end}" on the unchanged source`)
        this.#usualMs.set(test, performance.now() - began)
      }
    }
  }

  /** Runs the tests, one after another, on `source` in the place of `file`, until one fails. */
  async judge(file: string, source: string): Promise<End> {
    const changed = path.join(this.#scratch, `${++this.#files}.json`)
    writeFileSync(changed, JSON.stringify({ url: pathToFileURL(path.join(root, file)).href, source }))
    try {
      for (const test of this.#tests) {
        const end = await this.#run(test, (this.#usualMs.get(test) ?? measureMsMax) * slower + moreMs, changed)
        if (end !== 'passed') return end
      }
      return 'passed'
    } finally {
      rmSync(changed)
    }
  }

  #run(test: string, timeoutMs: number, changed?: string): Promise<End> {
    // Also without a change, so that the time with the hook is measured.
    const child = spawn(process.execPath, [path.join(root, test)], {
      cwd: root,
      detached: true,
      stdio: 'ignore',
      env: {
        ...withoutTap(process.env),
        NODE_OPTIONS: `--conditions=annal-source --import=${hook}`,
        NODE_COMPILE_CACHE: path.join(this.#scratch, 'compiled'),
        // Servers of the sources, which have the change.
        ANNAL_BUILT: '',
        TAP_BAIL: '1',
        TAP_TIMEOUT: '600',
        ANNAL_SEED: '1',
        ...(changed !== undefined && { ANNAL_MUTANT: changed }),
      },
    })
    const { pid } = child
    if (pid !== undefined) os.setPriority(pid, 10)
    return new Promise((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        if (pid !== undefined) process.kill(-pid, 'SIGKILL')
      }, timeoutMs)
      child.on('error', reject)
      child.on('close', (code) => {
        clearTimeout(timer)
        resolve(isLate ? 'timeout' : code === 0 ? 'passed' : 'killed')
      })
    })
  }
}

/** A test that runs others must not pass its own settings on to them. */
function withoutTap(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('TAP')))
}
