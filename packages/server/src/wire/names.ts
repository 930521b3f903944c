// Aliases and branches in the API.
import type { AliasDescription, BranchDescription, BranchRequest } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { keepExpired, readMoment } from './backup.ts'
import { type Infer, optionalInteger } from './schema.ts'
import { timeForms } from './time.ts'

/** Path parameter of an alias. */
export const aliasParam = Type.Object({ name: Type.String({ description: 'Name of the alias.' }) })

/** Body that creates or switches an alias. */
export const putAliasBody = Type.Object(
  { collection: Type.String({ description: 'Name of a collection; not of an alias.' }) },
  { $id: 'PutAlias' },
)
export type PutAliasBody = Infer<typeof putAliasBody>

const asOf = Type.Object({
  lsn: optionalInteger({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'The state as of this event.'),
  time: Type.Optional(
    Type.Unsafe<string | number | null>({
      type: ['string', 'number', 'null'],
      description: `The state as of this time: ${timeForms}`,
    }),
  ),
})

/** Body that creates a branch. */
export const branchBody = Type.Object(
  {
    name: Type.String({ description: 'Name of the new collection; must not exist.' }),
    as_of: Type.Optional(asOf),
    ...keepExpired,
  },
  { $id: 'BranchCollection' },
)
export type BranchBody = Infer<typeof branchBody>

/** Body that promotes a collection. */
export const promoteBody = Type.Object(
  {
    over: Type.String({ description: 'Name of the collection that is replaced.' }),
    keep_as: Type.String({ description: 'Its name afterwards: a free one, or that of the promoted collection.' }),
  },
  { $id: 'PromoteCollection' },
)
export type PromoteBody = Infer<typeof promoteBody>

export function readBranch({ name, as_of: moment }: BranchBody): BranchRequest {
  if (moment === undefined) return { name }
  const asOf = readMoment(moment, 'as_of.')
  if (asOf === undefined) throw invalidArgument('as_of must have lsn or time', { field: 'as_of', value: moment })
  return { name, asOf }
}

export function aliasReply({ name, collection, lsn, changedAt }: AliasDescription) {
  return { name, collection, lsn, changed_at: new Date(changedAt).toISOString() }
}

export function branchReply({ id, name, parentId, parentLsn, createdAt, deletedAt, objects }: BranchDescription) {
  return {
    id,
    name,
    parent_id: parentId ?? null,
    parent_lsn: parentLsn ?? null,
    created_at: new Date(createdAt).toISOString(),
    ...(deletedAt !== undefined && { deleted_at: new Date(deletedAt).toISOString() }),
    ...(objects !== undefined && { objects }),
  }
}
