// What every package's build has in common: ES modules for Node 22 and later, with bundled types.
import type { Options } from 'tsup'

export function libraryBuild(entry: Record<string, string>): Options {
  return {
    entry,
    format: ['esm'],
    target: 'node22',
    // tsup hands the type bundler a baseUrl, which TypeScript 6 accepts only with an acknowledgement that 7 removes it.
    dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
    clean: true,
    sourcemap: true,
    splitting: true,
    removeNodeProtocol: false,
  }
}
