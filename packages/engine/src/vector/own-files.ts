// Finds the files that the engine loads at run time: the kernels and the program of its threads. In the package they are where its
// package.json says; in a bundle, which has no package, they are next to the bundle.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EngineError } from '../errors.ts'

/** `specifier` names the file in the package, `name` next to a bundle. Throws `engine_file_missing`. */
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
