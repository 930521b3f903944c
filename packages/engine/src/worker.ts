// A worker thread: attaches to the arenas it is asked about and does one task at a time.
import { BroadcastChannel, type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type Attached, attachArena, helpApply, scanHere, searchHere } from './vector/attached.ts'
import {
  type ArenaReference,
  type Found,
  type Release,
  type Task,
  unknownArena,
  type WorkerData,
} from './vector/tasks.ts'

const data = ownData(workerData)
// A worker that replaces a lost one takes the number of some earlier worker; arenas in use at the loss are given up.
const thread = Atomics.add(data.numbers, 0, 1) % data.threads
const releases = new BroadcastChannel(data.channel)
releases.unref()
const arenas = new Map<number, Attached>()

/** The function the pool calls. */
export function run(task: Task): Found | typeof unknownArena | undefined {
  letGo()
  const attached = attachedTo(task.arena)
  if (attached === undefined) return unknownArena
  switch (task.kind) {
    case 'search':
      return searchHere(attached, task)
    case 'scan':
      return scanHere(attached, task)
    case 'apply':
      return helpApply(attached, task.vectors, task.dimension) ?? undefined
  }
}

function attachedTo({ id, handle }: ArenaReference): Attached | undefined {
  const known = arenas.get(id)
  if (known !== undefined || handle === undefined) return known
  const attached = attachArena(handle, data.module, thread)
  arenas.set(id, attached)
  return attached
}

/** Drops arenas that their owner has closed. The message is read here because an idle worker sleeps without an event loop. */
function letGo(): void {
  for (;;) {
    const message: { message: Release } | undefined = receiveMessageOnPort(
      // Node takes a BroadcastChannel here, as its documentation says; its types name the port alone.
      releases as unknown as MessagePort,
    )
    if (message === undefined) return
    arenas.delete(message.message.release)
  }
}

/** Piscina hands its own data over beside ours. */
function ownData(raw: unknown): WorkerData {
  return (Array.isArray(raw) ? raw[1] : raw) as WorkerData
}
