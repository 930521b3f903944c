// Adds up the memory of collections.
import type { Replica } from '../replica/replica.ts'

export function heldBy(collections: Iterable<{ readonly recovering: Replica | undefined }>): {
  readonly objects: number
  readonly memory: { readonly [part: string]: number }
} {
  const memory: Record<string, number> = {}
  let objects = 0
  for (const { recovering } of collections) {
    objects += recovering?.count ?? 0
    for (const [part, size] of Object.entries(recovering?.bytes() ?? {})) memory[part] = (memory[part] ?? 0) + size
  }
  return { objects, memory }
}
