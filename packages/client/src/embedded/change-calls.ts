// The operations on the change feed, on an engine.
import type { ChangeBatch as EngineBatch, Change as EngineChange, ChangesRequest as EngineRequest } from '@annal/engine'
import type { Change, ChangeBatch } from '../change-info.ts'
import type { ChangeOperations } from '../operations.ts'
import type { Calls } from './calls.ts'
import { defined } from './defined.ts'
import { translated } from './failure.ts'

export const changeCalls: Calls<keyof ChangeOperations> = {
  changes: ({ database }, request) => batchesOf(database.changes(defined(request) as EngineRequest).batches()),
  listCursors: ({ database }) =>
    database.cursors.list().map(({ name, lsn, updatedAt }) => ({ name, lsn, updatedAt: new Date(updatedAt) })),
  acknowledge: ({ database }, { cursor, lsn }) => database.cursors.acknowledge(cursor, lsn),
  async deleteCursor({ database }, { cursor }, write) {
    await database.cursors.delete(cursor, write)
  },
}

async function* batchesOf(batches: AsyncIterable<EngineBatch>): AsyncGenerator<ChangeBatch> {
  try {
    for await (const { changes, lsn } of batches) yield { changes: changes.map(changeOf), lsn }
  } catch (error) {
    translated(error)
  }
}

function changeOf({ timeMs, ...change }: EngineChange): Change {
  return { ...change, time: new Date(timeMs) }
}
