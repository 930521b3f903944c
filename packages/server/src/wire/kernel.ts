// Loads the server's own WebAssembly programs.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The types of Node.js do not declare WebAssembly. */
interface WebAssembly {
  compile(bytes: Uint8Array): Promise<object>
  readonly Instance: new (module: object) => { readonly exports: unknown }
}
const { compile, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssembly }).WebAssembly

/** Exports of a program of assembly/; undefined in a checkout where it is not compiled. */
export async function instance<Exports>(name: 'numbers' | 'scan' | 'floats'): Promise<Exports | undefined> {
  const wasm = await readFile(fileURLToPath(import.meta.resolve(`#kernel/${name}.wasm`))).catch(absent)
  return wasm && (new Instance(await compile(wasm)).exports as Exports)
}

function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
