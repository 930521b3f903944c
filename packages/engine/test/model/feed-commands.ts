// The change feed and its cursors: a consumer gets every record of the database from its place on, in order, with the objects as the record
// left them.
import type { Change, RecordedChange } from '@annal/engine'
import fc from 'fast-check'
import { name, pick, picked } from './arbitraries.ts'
import { type Command, check, codeOf, command, type Real } from './command.ts'
import type { Life, Model, Recorded } from './lives.ts'

const consumer = fc.constantFrom('cache', 'index')

/** Undefined: from the position of the cursor. */
function follow(
  place: number | { readonly cursor: string },
  only: string | undefined,
  includeVectors: boolean,
): Command {
  const label = typeof place === 'number' ? '' : ` at ${place.cursor}`
  return command(`follow changes${label}${only ? ` of ${only}` : ''}`, async (model, real) => {
    const cursor = typeof place === 'number' ? undefined : place.cursor
    const from =
      typeof place === 'number' ? (picked(model.records, place)?.lsn ?? 1) : (model.cursors.get(place.cursor) ?? 0) + 1
    const request = {
      ...(cursor ? { cursor, from: 1 } : { from }),
      ...(only && { collections: [only] }),
      includeVectors,
    }
    const found = (await changesUntilNow(real, request)).filter((change) => change.kind !== 'notice')
    const expected = model.records.filter(({ lsn, collection }) => lsn >= from && (!only || collection === only))
    const [got, wanted] = [found.map(summaryOf), expected.map(expectedOf)]
    const position = got.findIndex((line, i) => line !== wanted[i])
    check(
      got.length === wanted.length && position < 0,
      `${got.length} changes from LSN ${from}, expected ${wanted.length}: ${got[position]}, expected ${wanted[position]}`,
    )
    for (const change of found) compareObjects(model, change, includeVectors)
  })
}

export async function changesUntilNow({ engine }: Real, request: object): Promise<readonly Change[]> {
  const end = engine.lsnApplied
  const changes: Change[] = []
  for await (const batch of engine.database().changes(request).batches()) {
    changes.push(...batch.changes)
    if (batch.lsn >= end) break
  }
  return changes.filter(({ lsn }) => lsn <= end)
}

function summaryOf({ lsn, kind, collection, objects, deleted }: RecordedChange): string {
  return lineOf(lsn, kind, collection, objects?.map(({ id }) => id) ?? [], deleted ?? [])
}

function expectedOf({ lsn, kind, collection, written = [], deleted = [] }: Recorded): string {
  return lineOf(lsn, kind, collection, written, deleted)
}

function lineOf(lsn: number, kind: string, target: string, written: readonly string[], deleted: readonly string[]) {
  return `${lsn} ${kind} ${target} +${[...written].sort()} -${[...deleted].sort()}`
}

function compareObjects(
  model: Model,
  { lsn, kind, collection, objects = [] }: RecordedChange,
  includeVectors: boolean,
): void {
  const life = objects.length === 0 ? undefined : (model.resolveAt(collection, lsn) as Life)
  for (const { id, meta, filter, fields, expiresAt } of objects) {
    const expected = life?.versions.get(id)?.find((version) => version.lsn === lsn)?.object
    const label = `${id} of LSN ${lsn}`
    check(JSON.stringify(filter) === JSON.stringify(expected?.filter), `filter of ${label}`)
    // An update of filters does not write it.
    if (kind !== 'filters-replaced') check(expiresAt === expected?.expiresAt, `expiry of ${label}`)
    if (meta !== undefined) check(JSON.stringify(meta) === JSON.stringify(expected?.meta), `meta of ${label}`)
    if (!includeVectors || fields?.v === undefined) continue
    check(JSON.stringify([...(fields.v as Float32Array)]) === JSON.stringify(expected?.vector), `vector of ${label}`)
  }
}

function acknowledge(cursor: string, place: number): Command {
  return command(`acknowledge ${cursor}`, async (model, { engine }) => {
    const lsn = picked(model.records, place)?.lsn ?? 0
    const expected = Math.max(model.cursors.get(cursor) ?? 0, lsn)
    const reply = await engine.database().cursors.acknowledge(cursor, lsn)
    check(reply.lsn === expected, `the cursor is at ${reply.lsn}, not ${expected}`)
    model.cursors.set(cursor, expected)
    if (!reply.durable) model.hasWaitingCursor = true
    listCursors(model, engine)
  })
}

function deleteCursor(cursor: string): Command {
  return command(`delete cursor ${cursor}`, async (model, { engine }) => {
    const code = await codeOf(engine.database().cursors.delete(cursor))
    check(code === (model.cursors.delete(cursor) ? 'none' : 'feed_cursor_not_found'), `delete cursor answered ${code}`)
    listCursors(model, engine)
  })
}

export function listCursors(model: Model, engine: Real['engine']): void {
  const found = engine
    .database()
    .cursors.list()
    .map((one) => `${one.name} ${one.lsn}`)
    .sort()
  const expected = [...model.cursors].map(([key, lsn]) => `${key} ${lsn}`).sort()
  check(`${found}` === `${expected}`, `cursors ${found}, expected ${expected}`)
}

export const feedCommands: fc.Arbitrary<Command>[] = [
  fc.tuple(pick, fc.option(name, { nil: undefined }), fc.boolean()).map((args) => follow(...args)),
  consumer.map((cursor) => follow({ cursor }, undefined, false)),
  fc.tuple(consumer, pick).map((args) => acknowledge(...args)),
  consumer.map(deleteCursor),
]
