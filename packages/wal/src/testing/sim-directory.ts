// One directory of the simulated disk: the names that every process sees, and the changes that a power cut may still
// undo.
import type { Random } from './random.ts'
import type { SimFile } from './sim-file.ts'

/** An entry of a directory. */
export type SimNode = SimFile | SimDirectory

type Change =
  | { readonly kind: 'add'; readonly name: string; readonly node: SimNode }
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string; readonly node: SimNode }

/** A directory of the simulated disk. */
export class SimDirectory {
  #names = new Map<string, SimNode>()
  #durable = new Map<string, SimNode>()
  #changes: Change[] = []

  get(name: string): SimNode | undefined {
    return this.#names.get(name)
  }

  list(): string[] {
    return [...this.#names.keys()]
  }

  get isEmpty(): boolean {
    return this.#names.size === 0
  }

  add(name: string, node: SimNode): void {
    this.#change({ kind: 'add', name, node })
  }

  remove(name: string): void {
    this.#change({ kind: 'remove', name })
  }

  rename(from: string, to: string, node: SimNode): void {
    this.#change({ kind: 'rename', from, to, node })
  }

  sync(): void {
    if (this.#changes.length === 0) return
    this.#durable = new Map(this.#names)
    this.#changes = []
  }

  /** Each change since the last sync is either on the disk or not. */
  afterPowerCut(random: Random, filesDone: Map<SimFile, SimFile>): SimDirectory {
    const names = new Map(this.#durable)
    for (const change of this.#changes) if (random.chance(0.5)) apply(names, change)
    const after = new SimDirectory()
    for (const [name, node] of names) {
      const fresh =
        node instanceof SimDirectory ? node.afterPowerCut(random, filesDone) : cutOnce(node, random, filesDone)
      after.#names.set(name, fresh)
    }
    after.#durable = new Map(after.#names)
    return after
  }

  /** A copy of the current state, durable as a whole. */
  copy(): SimDirectory {
    const twin = new SimDirectory()
    for (const [name, node] of this.#names) twin.#names.set(name, node.copy())
    twin.#durable = new Map(twin.#names)
    return twin
  }

  /** Adds or removes a name without the file system noticing. */
  damage(change: (names: Map<string, SimNode>) => void): void {
    change(this.#names)
    this.#durable = new Map(this.#names)
    this.#changes = []
  }

  #change(change: Change): void {
    this.#changes.push(change)
    apply(this.#names, change)
  }
}

function apply(names: Map<string, SimNode>, change: Change): void {
  if (change.kind === 'add') names.set(change.name, change.node)
  else if (change.kind === 'remove') names.delete(change.name)
  else {
    if (names.get(change.from) === change.node) names.delete(change.from)
    names.set(change.to, change.node)
  }
}

/** A file with two names is still one file after the cut. */
function cutOnce(file: SimFile, random: Random, done: Map<SimFile, SimFile>): SimFile {
  const known = done.get(file)
  if (known !== undefined) return known
  const after = file.afterPowerCut(random)
  done.set(file, after)
  return after
}
