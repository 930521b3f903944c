// Runs of 32-bit floats in MessagePack, which is how clients write vectors as arrays: how long a run is, and its numbers. A run ends at the
// first number with another head, or at one that is not finite; the caller reads that one, so every error stays the caller's.
// assembly/floats.ts reads four numbers at once.
import { instance } from './kernel.ts'

/** The same addresses as in assembly/floats.ts. */
const inputAt = 65_536
const floatsAt = 196_608
const runMax = 16_384
/** The head of a 32-bit float. */
export const float32Head = 0xca
/** A number and its head. */
export const float32Bytes = 5
/** To copy a shorter run to the program costs as much as to read it. */
const runMin = 16

interface Program {
  readonly memory: { readonly buffer: ArrayBuffer }
  run(count: number): number
  read(count: number): number
}

const program = await compiledProgram()

/** Undefined in a checkout where it is not compiled; then every run is 0 long. */
async function compiledProgram() {
  const exports = await instance<Program>('floats')
  if (exports === undefined) return undefined
  const { memory, run, read } = exports
  return { input: new Uint8Array(memory.buffer, inputAt), floats: new Float32Array(memory.buffer, floatsAt), run, read }
}

/** Where floats are read. */
export interface FloatPlace {
  readonly from: number
  readonly end: number
  /** Maximum number of floats. */
  readonly count: number
}

/** Number of 32-bit floats from a position on, all of them complete. May be 0 if they are few. */
export function float32Run(bytes: Uint8Array, { from, end, count }: FloatPlace): number {
  let found = 0
  for (;;) {
    const at = from + found * float32Bytes
    const most = complete(end - at, count - found)
    if (most < runMin || program === undefined) return found
    program.input.set(bytes.subarray(at, at + most * float32Bytes))
    const more = program.run(most)
    found += more
    if (more < most) return found
  }
}

/** Reads finite 32-bit floats from `from` on into `into` until it is full. Returns how many; may be 0 if they are few. */
export function readFloat32s(bytes: Uint8Array, from: number, into: Float32Array): number {
  let found = 0
  for (;;) {
    const at = from + found * float32Bytes
    const most = complete(bytes.length - at, into.length - found)
    if (most < runMin || program === undefined) return found
    program.input.set(bytes.subarray(at, at + most * float32Bytes))
    const more = program.read(most)
    into.set(program.floats.subarray(0, more), found)
    found += more
    if (more < most) return found
  }
}

/** Numbers that are complete in so many bytes and fit into the program's memory. */
function complete(bytes: number, count: number): number {
  return Math.min(runMax, count, Math.floor(bytes / float32Bytes))
}
