// How `annal takeover` reaches the server that follows an archive with a directory: one file has the request, another one the answer. So only a
// user who may write to the directory can order a takeover, and no route has to be protected.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWhole, nodeVfs, readFully, sizeOf, writeFully } from '@annal/wal'

/** What became of a takeover. */
export type TakeoverAnswer =
  | { readonly kind: 'done'; readonly lsn: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

const requestName = 'takeover-request'
const answerName = 'takeover-answer'
const pollMs = 100

/** Asks the server that has the directory open, and waits for its answer. Returns undefined if there is none after `timeoutMs`. */
export async function requestTakeover(dataDir: string, timeoutMs: number): Promise<TakeoverAnswer | undefined> {
  const vfs = nodeVfs()
  const [request, answer] = [path.join(dataDir, requestName), path.join(dataDir, answerName)]
  if (await vfs.exists(answer)) await vfs.remove(answer)
  await createWhole(vfs, request, (file) => writeFully(file, Buffer.from('takeover\n'), 0))
  for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(pollMs)) {
    if (!(await vfs.exists(answer))) continue
    const bytes = Buffer.alloc(await sizeOf(vfs, answer))
    const file = await vfs.open(answer, 'read')
    try {
      await readFully(file, bytes, 0)
    } finally {
      await file.close()
    }
    await vfs.remove(answer)
    return JSON.parse(bytes.toString()) as TakeoverAnswer
  }
  // It must not take over when nobody waits for it any more.
  if (await vfs.exists(request)) await vfs.remove(request)
  return undefined
}

/** Whether a takeover is requested; the request is removed. */
export async function takeRequest(dataDir: string): Promise<boolean> {
  const vfs = nodeVfs()
  const request = path.join(dataDir, requestName)
  if (!(await vfs.exists(request))) return false
  await vfs.remove(request)
  return true
}

export function answerRequest(dataDir: string, answer: TakeoverAnswer): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(answer))
  return createWhole(nodeVfs(), path.join(dataDir, answerName), (file) => writeFully(file, bytes, 0))
}
