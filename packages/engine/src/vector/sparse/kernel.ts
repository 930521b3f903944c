// The kernel of sparse fields: one instance for each field and thread.
import { readFile } from 'node:fs/promises'
import { refuseStale } from '../kernel-abi.ts'
import { ownFile } from '../own-files.ts'
import { synchronized } from '../synchronized.ts'

/** Version of the interface between host and kernel; assembly/sparse/index.ts has the same number. */
const sparseKernelAbi = 3

/** Exports of assembly/sparse/index.ts. */
export interface SparseKernel {
  readonly abi: WebAssembly.Global
  /** Runs the query whose descriptor is at an address of the field's memory. */
  search(descriptor: number): void
}

let compiled: Promise<WebAssembly.Module> | undefined

/** Compiled once; every field uses the same code. */
export function compileSparseKernel(): Promise<WebAssembly.Module> {
  compiled ??= readFile(ownFile('#kernel/annal-sparse.wasm', 'annal-sparse.wasm')).then((bytes) =>
    WebAssembly.compile(bytes),
  )
  return compiled
}

export function instantiateSparseKernel(module: WebAssembly.Module, memory: WebAssembly.Memory): SparseKernel {
  const env = {
    memory,
    abort() {
      throw new Error('broken invariant: the sparse kernel aborted')
    },
  }
  const { exports } = new WebAssembly.Instance(module, { env })
  synchronized(memory)
  // WebAssembly's own type of exports is untyped; the interface above is checked by the tests that call it.
  const kernel = exports as unknown as SparseKernel
  refuseStale(kernel.abi, sparseKernelAbi)
  return kernel
}
