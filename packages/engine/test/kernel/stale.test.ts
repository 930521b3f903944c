import { test } from 'tap'
import { compileKernel, instantiateKernel } from '../../src/vector/dense/kernel.ts'
import { instantiateSparseKernel } from '../../src/vector/sparse/kernel.ts'

const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
const empty = [0, 97, 115, 109, 1, 0, 0, 0]
/** A module that exports the constant `abi`, -1. */
const other = [...empty, 6, 6, 1, 127, 0, 65, 127, 11, 7, 7, 1, 3, 97, 98, 105, 3, 0]

test('a kernel with another number, or without one, is rejected with the command that builds the right one', async (t) => {
  for (const [bytes, value] of [
    [empty, undefined],
    [other, -1],
  ] as const) {
    const module = await WebAssembly.compile(Uint8Array.from(bytes))
    const stale = { code: 'kernel_stale', message: /npm run kernel/, details: { value } }
    t.throws(() => instantiateKernel(module, memory), stale)
    t.throws(() => instantiateSparseKernel(module, memory), stale)
  }
})

test('both existing builds have the number that the program needs', async (t) => {
  await t.resolves(compileKernel('relaxed'))
  await t.resolves(compileKernel('plain'))
})
