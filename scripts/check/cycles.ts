// No file may import itself through others: neither for values, nor for types (`import type`), nor when it runs (`import()`).
// Files of a cycle cannot be read, tested or moved one at a time. Neither may a folder: the folders of a cycle are one folder in pieces.
import path from 'node:path'
import type { SourceFile } from './source-files.ts'

/** One line for each group of files that import each other, with a shortest cycle of the group. */
export function cycleFaults(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[] {
  const edges = edgesOf(files)
  return groupsOf(edges)
    .map((group) => shortestCycle(group, edges))
    .filter((cycle) => cycle.length > 0)
    .map((cycle) => `import cycle: ${cycle.join(' -> ')}`)
}

/** One line for each group of folders next to each other that import each other, with a shortest cycle and an import for each step. */
export function folderCycleFaults(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[] {
  const imports = new Map<string, Map<string, string>>()
  for (const [from, targets] of edgesOf(files)) {
    for (const to of targets) {
      const [folder, other] = siblingFolders(from, to)
      if (folder === undefined || other === undefined) continue
      imports.set(folder, (imports.get(folder) ?? new Map<string, string>()).set(other, `${from} -> ${to}`))
    }
  }
  const edges = new Map([...imports].map(([folder, others]) => [folder, [...others.keys()]]))
  return groupsOf(edges)
    .map((group) => shortestCycle(group, edges))
    .filter((cycle) => cycle.length > 0)
    .map((cycle) => {
      const steps = cycle.slice(1).map((next, i) => imports.get(cycle[i] as string)?.get(next))
      return `folder cycle: ${cycle.join(' -> ')} (${steps.join(', ')})`
    })
}

/** The folders next to each other that have the two files; undefined for a file that is next to the folder of the other one. */
function siblingFolders(from: string, to: string): (string | undefined)[] {
  const names = to.split('/')
  const same = from.split('/').findIndex((name, i) => name !== names[i])
  return [from, to].map((file) => {
    const parts = file.split('/')
    return same >= 0 && parts.length > same + 1 ? parts.slice(0, same + 1).join('/') : undefined
  })
}

type Edges = ReadonlyMap<string, readonly string[]>

function edgesOf(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): Edges {
  const known = new Set(files.map((file) => file.path))
  return new Map(
    files.map(({ path: from, imports }) => {
      const targets = imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => resolved(path.posix.join(path.posix.dirname(from), specifier), known))
      return [from, [...new Set(targets.filter((target) => target !== undefined))]]
    }),
  )
}

/** A specifier may leave out the extension, or name a folder. */
function resolved(target: string, known: ReadonlySet<string>): string | undefined {
  return ['', '.ts', '.tsx', '/index.ts', '/index.tsx'].map((end) => target + end).find((name) => known.has(name))
}

/** The strongly connected components of the graph (Tarjan), each with its files in alphabetical order. */
function groupsOf(edges: Edges): string[][] {
  const index = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()
  const groups: string[][] = []
  const visit = (file: string): number => {
    const own = index.size
    index.set(file, own)
    stack.push(file)
    onStack.add(file)
    let least = own
    for (const next of edges.get(file) ?? []) {
      if (!index.has(next)) least = Math.min(least, visit(next))
      else if (onStack.has(next)) least = Math.min(least, index.get(next) as number)
    }
    if (least === own) {
      const group = stack.splice(stack.indexOf(file))
      for (const member of group) onStack.delete(member)
      groups.push(group.sort())
    }
    return least
  }
  for (const file of edges.keys()) if (!index.has(file)) visit(file)
  return groups
}

/** From the first file of the group back to itself. Empty: the group is a single file that does not import itself. */
function shortestCycle(group: readonly string[], edges: Edges): string[] {
  const [start] = group as [string]
  const members = new Set(group)
  const from = new Map<string, string>()
  const queue = [start]
  for (const file of queue) {
    for (const next of edges.get(file) ?? []) {
      if (next === start) return [...trail(file, from), start]
      if (!members.has(next) || from.has(next)) continue
      from.set(next, file)
      queue.push(next)
    }
  }
  return []
}

function trail(file: string, from: ReadonlyMap<string, string>): string[] {
  const before = from.get(file)
  return before === undefined ? [file] : [...trail(before, from), file]
}
