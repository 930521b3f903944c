import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function inDirectory(act: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-replay-'))
  try {
    await act(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}
