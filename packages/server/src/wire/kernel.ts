// The server's own WebAssembly: where it lies and how it is made ready.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** Node's types have none of it. */
interface WebAssembly {
  compile(bytes: Uint8Array): Promise<object>
  readonly Instance: new (module: object) => { readonly exports: unknown }
}
const { compile, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssembly }).WebAssembly

/** What a program of assembly/ exports; undefined in a checkout where it was not compiled yet. */
export async function instance<Exports>(name: 'numbers' | 'scan'): Promise<Exports | undefined> {
  const wasm = await readFile(fileURLToPath(import.meta.resolve(`#kernel/${name}.wasm`))).catch(absent)
  return wasm && (new Instance(await compile(wasm)).exports as Exports)
}

function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
