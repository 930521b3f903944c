// The npm tarballs, the wheel, and the source distribution of one commit, built from a clone of their own, so that nothing that is only in
// the working tree gets in.
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { runStep, type StepOptions } from './run-step.ts'

export interface Checkout {
  readonly dir: string
  /** Time of the commit, in seconds: no artifact states a later one. */
  readonly epoch: number
}

/** Clones the commit of the repository, and installs what the lock file states. */
export async function checkOut(repository: string, commit: string, dir: string): Promise<Checkout> {
  await runStep('git', ['clone', '--quiet', '--no-checkout', repository, dir])
  await runStep('git', ['checkout', '--quiet', '--detach', commit], { cwd: dir })
  const epoch = Number(await runStep('git', ['log', '-1', '--format=%ct'], { cwd: dir }))
  const args = ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  await runStep('npm', args, { cwd: dir })
  return { dir, epoch }
}

/** Builds everything and puts the artifacts into `out`. */
export async function buildPackages({ dir, epoch }: Checkout, out: string, options: StepOptions = {}): Promise<void> {
  await mkdir(out, { recursive: true })
  const bin = path.join(dir, 'node_modules', '.bin')
  const inside: StepOptions = {
    ...options,
    cwd: dir,
    env: {
      ...options.env,
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
      SOURCE_DATE_EPOCH: String(epoch),
      TURBO_TELEMETRY_DISABLED: '1',
    },
  }
  // Without the cache of other checkouts.
  await runStep('turbo', ['run', 'build', '--force', '--output-logs=errors-only', '--ui=stream'], inside)
  await runStep('node', ['scripts/pack.ts', out], inside)
  await runStep('node', ['scripts/pack-python.ts', out, String(epoch)], inside)
}
