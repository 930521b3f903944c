// The memory of an engine: refuses work that it has no memory for, and frees what is kept only for speed.
import { MemoryGuard } from '../admission/memory-guard.ts'
import { memoryReader } from '../admission/memory-reading.ts'
import { tokenMemory } from '../text/kept-tokens.ts'
import type { EngineHost } from './host.ts'

export function createMemoryGuard(engine: EngineHost): MemoryGuard {
  const { memory, parts } = engine.base
  const read = memory === undefined ? () => [] : (parts.readMemory ?? memoryReader(memory))
  return new MemoryGuard({
    read,
    nowMs: () => performance.now(),
    free: () => {
      engine.recent.free()
      engine.pastStates.free()
    },
    freeMore: () => {
      tokenMemory.clear()
      memory?.onScarce?.()
    },
  })
}
