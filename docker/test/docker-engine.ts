// Whether a Docker engine answers, and why tests that need one are skipped.
import { execFileSync } from 'node:child_process'

/** Whether the command succeeds. */
export function answers(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    // Not installed, or not running.
    return false
  }
}

const hasEngine = answers('docker', 'compose', 'version') && answers('docker', 'version')
const isLong = process.env.ANNAL_LONG === '1'

/** Why tests that build and run images are skipped; false when they run. */
export const skipDocker = hasEngine
  ? isLong
    ? false
    : 'builds images; set ANNAL_LONG=1'
  : 'no Docker engine answers here'
