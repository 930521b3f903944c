// What every package's build has in common: ES modules for Node 22 and later, with bundled types.
import type { Options } from 'tsup'

export function libraryBuild(entry: Record<string, string>): Options {
  return {
    entry,
    format: ['esm'],
    target: 'node22',
    dts: true,
    clean: true,
    sourcemap: true,
    splitting: true,
    removeNodeProtocol: false,
  }
}
