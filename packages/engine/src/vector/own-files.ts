// Where the files of the engine are that it loads while it runs: the kernels and the program of its threads. In the package they are
// where the package says; in a bundle, which has no package around it, they are next to the bundle.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EngineError } from '../errors.ts'

/** `specifier` is what names the file in the package, `name` what it is called next to a bundle. Throws `engine_file_missing`. */
export function ownFile(specifier: string, name: string): string {
  const next = fileURLToPath(new URL(name, import.meta.url))
  if (existsSync(next)) return next
  try {
    return fileURLToPath(import.meta.resolve(specifier))
  } catch {
    const advice = 'keep @annal/engine external to the bundle, or copy its files as docs/guide/embedded.md shows'
    throw new EngineError(
      'engine_file_missing',
      `${name} of the engine was not found: there is no ${next}; ${advice}`,
      {
        field: 'file',
        value: next,
      },
    )
  }
}
