// Finds the program of the serving threads.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Next to this module in a build, or where the package says. */
export function threadFile(): string {
  const next = fileURLToPath(new URL('serving-thread.js', import.meta.url))
  return existsSync(next) ? next : fileURLToPath(import.meta.resolve('@annal/server/serving-thread'))
}
