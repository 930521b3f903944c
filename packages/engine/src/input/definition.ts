// Parses a collection definition in the public form into a checked CollectionSchema.

import {
  efConstructionDefault,
  mDefault,
  poolingDefault,
  precisionDefault,
  spaceTypeDefault,
  sparseModelDefault,
} from '../defaults.ts'
import { EngineError } from '../errors.ts'
import {
  dimensionMax,
  dimensionMin,
  efConstructionMax,
  efConstructionMin,
  fieldsMax,
  mMax,
  mMin,
  recallTargetMax,
  recallTargetMin,
  sparseDimensionMax,
} from '../limits.ts'
import { poolings, precisions, spaceTypes, sparseModels } from '../model/choices.ts'
import type { DefaultChanges, FieldChanges, RebuildChanges } from '../model/collection.ts'
import { checkObject, parseName, printed, shownValue } from '../model/ids.ts'
import { finiteNumber, wholeNumber } from '../model/numbers.ts'
import {
  type CollectionSchema,
  type DenseSchemaParams,
  type FieldSchema,
  hasLists,
  rulesNewest,
  withRecall,
  withRules,
} from '../model/schema.ts'
import { parseEmbed } from './embed-params.ts'
import { parseTtl } from './expiry.ts'
import { parseTextParams } from './text-params.ts'

type Input = { readonly [key: string]: unknown }

/** Throws invalid_argument or limit_exceeded with the field, its value and the limit. */
export function parseDefinition(raw: unknown): CollectionSchema {
  const input = object(raw, 'definition')
  const name = parseName(input.name, 'name')
  const fields = input.fields
  if (!Array.isArray(fields) || fields.length === 0) {
    throw new EngineError('invalid_argument', `fields must be a non-empty array, got ${printed(fields)}`, {
      field: 'fields',
      value: shownValue(fields),
    })
  }
  if (fields.length > fieldsMax) {
    throw new EngineError('limit_exceeded', `fields has ${fields.length} entries, at most ${fieldsMax} are allowed`, {
      field: 'fields',
      value: fields.length,
      limit: fieldsMax,
    })
  }
  const schemas = fields.map((field, index) => parseField(field, `fields[${index}]`))
  const seen = new Set<string>()
  for (const field of schemas) {
    if (seen.has(field.name)) {
      throw new EngineError('invalid_argument', `fields has two entries named ${printed(field.name)}`, {
        field: 'fields',
        value: field.name,
      })
    }
    seen.add(field.name)
  }
  for (const [index, field] of schemas.entries()) checkSource(field, schemas, `fields[${index}].params.embed.from`)
  const ttl = input.ttl_seconds ?? input.ttlSeconds ?? undefined
  return { name, fields: schemas, ...(ttl !== undefined && { ttlSeconds: parseTtl(ttl, 'ttl_seconds') }) }
}

/** Vectors are made of the texts of the same objects. */
function checkSource(field: FieldSchema, fields: readonly FieldSchema[], path: string): void {
  const from = field.kind === 'dense' ? field.params.embed?.from : undefined
  if (from === undefined || fields.some(({ name, kind }) => name === from && kind === 'text')) return
  const texts = fields.filter(({ kind }) => kind === 'text').map(({ name }) => name)
  const message = `${path} must name a text field of the collection (${texts.join(', ') || 'it has none'}), got ${printed(from)}`
  throw new EngineError('invalid_argument', message, { field: path, value: from, limit: texts })
}

/**
 * Throws field_not_found or invalid_argument where a program takes a collection for another one: by the name, the kind, the dimension
 * or the space of a field. Other parameters, and fields that the program does not name, may differ.
 */
export function checkHasFields(actual: CollectionSchema, wanted: CollectionSchema): void {
  for (const [index, field] of wanted.fields.entries()) {
    const found = actual.fields.find(({ name }) => name === field.name)
    if (found === undefined) {
      const names = actual.fields.map(({ name }) => name).join(', ')
      const message = `collection ${printed(actual.name)} has no field ${printed(field.name)}, it has ${names}`
      throw new EngineError('field_not_found', message, { field: `fields[${index}].name`, value: field.name })
    }
    checkSame(found.kind, field.kind, field.name, `fields[${index}].type`)
    if (found.kind === 'text' && field.kind === 'text') {
      checkSame(found.params.language, field.params.language, field.name, `fields[${index}].params.language`)
      continue
    }
    if (hasLists(found) || hasLists(field)) continue
    checkSame(found.params.dimension, field.params.dimension, field.name, `fields[${index}].params.dimension`)
    checkSame(found.params.spaceType, field.params.spaceType, field.name, `fields[${index}].params.space_type`)
  }
}

function checkSame(actual: string | number, wanted: string | number, name: string, path: string): void {
  if (actual === wanted) return
  const message = `${path} is ${wanted}, but field ${printed(name)} of the collection has ${actual}`
  throw new EngineError('invalid_argument', message, { field: path, value: wanted, limit: actual })
}

/**
 * Returns the fields with a different M and ef_construction and the newest rules. Throws field_not_found,
 * invalid_argument or limit_exceeded.
 */
export function rebuiltFields(definition: CollectionSchema, changes: RebuildChanges): readonly FieldSchema[] {
  checkObject(changes, 'changes')
  for (const name of Object.keys(changes)) {
    const field = definition.fields.find((candidate) => candidate.name === name)
    if (field && !hasLists(field)) continue
    throw new EngineError('field_not_found', `${printed(name)} is not a field with a graph`, {
      field: 'fields',
      value: name,
    })
  }
  return definition.fields.map((before) => {
    const field = withRules(before, rulesNewest)
    const change = changes[field.name]
    if (hasLists(field) || !change) return field
    const M = wholeNumber(change.M ?? field.params.M, `${field.name}.M`, mMin, mMax)
    const most = [efConstructionMin, efConstructionMax] as const
    const efConstruction = wholeNumber(
      change.efConstruction ?? field.params.efConstruction,
      `${field.name}.ef_con`,
      ...most,
    )
    return field.kind === 'dense'
      ? { ...field, params: { ...field.params, M, efConstruction } }
      : { ...field, params: { ...field.params, M, efConstruction } }
  })
}

/**
 * Returns the fields with other defaults of searches, or undefined if nothing changes. Throws field_not_found, invalid_argument or
 * limit_exceeded.
 */
export function changedFields(definition: CollectionSchema, changes: FieldChanges): readonly FieldSchema[] | undefined {
  checkObject(changes, 'changes')
  const wanted = new Map<string, number | undefined>()
  for (const [name, change] of Object.entries(changes)) {
    if (change === undefined) continue
    const path = `changes.${name}`
    checkObject(change, path)
    if (definition.fields.find((field) => field.name === name)?.kind !== 'dense') {
      const message = `${printed(name)} is not a field of type vector`
      throw new EngineError('field_not_found', message, { field: 'fields', value: name })
    }
    const other = Object.keys(change).find((key) => key !== 'recall')
    if (other !== undefined) {
      const message = `${path}.${printed(other)} cannot be changed; recall can, and a rebuild changes M and efConstruction`
      throw new EngineError('invalid_argument', message, { field: `${path}.${other}` })
    }
    if (change.recall !== undefined)
      wanted.set(name, change.recall === null ? undefined : parseRecall(change.recall, path))
  }
  let isChanged = false
  const fields = definition.fields.map((field) => {
    if (field.kind !== 'dense' || !wanted.has(field.name)) return field
    const recall = wanted.get(field.name)
    isChanged ||= field.params.recall !== recall
    return withRecall(field, recall)
  })
  return isChanged ? fields : undefined
}

/**
 * The new default expiry: seconds, or null for none; undefined if it stays. Throws invalid_argument or limit_exceeded.
 */
export function parseDefaults(changes: DefaultChanges): number | null | undefined {
  checkObject(changes, 'changes')
  const other = Object.keys(changes).find((key) => key !== 'ttlSeconds')
  if (other !== undefined) {
    const message = `changes.${printed(other)} is not a default of a collection; the only one is ttlSeconds`
    throw new EngineError('invalid_argument', message, {
      field: `changes.${other}`,
      value: shownValue(changes[other as never]),
    })
  }
  const { ttlSeconds } = changes
  return ttlSeconds === undefined || ttlSeconds === null ? ttlSeconds : parseTtl(ttlSeconds, 'changes.ttlSeconds')
}

function parseRecall(value: unknown, path: string): number {
  return finiteNumber(value, `${path}.recall`, recallTargetMin, recallTargetMax)
}

function parseField(raw: unknown, path: string): FieldSchema {
  const input = object(raw, path)
  const name = parseName(input.name, `${path}.name`)
  const params = input.params === undefined ? {} : object(input.params, `${path}.params`)
  switch (input.type) {
    case 'vector':
    case 'dense':
      return { kind: 'dense', name, params: parseDenseParams(params, `${path}.params`) }
    case 'sparse': {
      const model = oneOf(
        sparseModels,
        input.sparse_model ?? params.sparse_model ?? params.model ?? sparseModelDefault,
        `${path}.sparse_model`,
      )
      const dimension = wholeNumber(
        params.dimension ?? sparseDimensionMax,
        `${path}.params.dimension`,
        1,
        sparseDimensionMax,
      )
      return { kind: 'sparse', name, params: { model, dimension } }
    }
    case 'text':
      return { kind: 'text', name, params: parseTextParams(params, `${path}.params`) }
    case 'multi_vector': {
      const pooling = oneOf(poolings, params.pooling ?? poolingDefault, `${path}.params.pooling`)
      const { keepOriginals, recall, embed, ...dense } = parseDenseParams(params, `${path}.params`)
      if (embed !== undefined) {
        const field = `${path}.params.embed`
        const message = `${field}: only a field of type "vector" gets vectors from a provider`
        throw new EngineError('invalid_argument', message, { field, value: embed.provider })
      }
      if (recall !== undefined) {
        const field = `${path}.params.recall`
        const message = `${field}: a field of several vectors has ef, not recall`
        throw new EngineError('invalid_argument', message, { field, value: recall })
      }
      if (keepOriginals === false) {
        const field = `${path}.params.keep_originals`
        const message = `${field} cannot be false: a multi-vector field compares the vectors that it keeps on disk`
        throw new EngineError('invalid_argument', message, { field, value: false })
      }
      return { kind: 'multi', name, params: { ...dense, pooling } }
    }
    default:
      throw new EngineError(
        'invalid_argument',
        `${path}.type must be "vector", "sparse", "text" or "multi_vector", got ${printed(input.type)}`,
        {
          field: `${path}.type`,
          value: shownValue(input.type),
        },
      )
  }
}

function parseDenseParams(params: Input, path: string): DenseSchemaParams {
  const spaceType = params.space_type ?? params.spaceType ?? spaceTypeDefault
  const precision = params.precision ?? precisionDefault
  const M = params.M ?? params.m ?? mDefault
  const efConstruction = params.ef_con ?? params.ef_construct ?? params.efConstruction ?? efConstructionDefault
  return {
    dimension: wholeNumber(params.dimension, `${path}.dimension`, dimensionMin, dimensionMax),
    spaceType: oneOf(
      spaceTypes,
      typeof spaceType === 'string' ? spaceType.toLowerCase() : spaceType,
      `${path}.space_type`,
    ),
    precision: oneOf(precisions, precision, `${path}.precision`),
    M: wholeNumber(M, `${path}.M`, mMin, mMax),
    efConstruction: wholeNumber(efConstruction, `${path}.ef_con`, efConstructionMin, efConstructionMax),
    ...(!parseKeepOriginals(params, path) && { keepOriginals: false as const }),
    ...(params.recall !== undefined && params.recall !== null && { recall: parseRecall(params.recall, path) }),
    ...(params.embed !== undefined && params.embed !== null && { embed: parseEmbed(params.embed, `${path}.embed`) }),
  }
}

function parseKeepOriginals(params: Input, path: string): boolean {
  const keeps = params.keep_originals ?? params.keepOriginals ?? true
  if (typeof keeps === 'boolean') return keeps
  const field = `${path}.keep_originals`
  throw new EngineError('invalid_argument', `${field} must be true or false, got ${printed(keeps)}`, {
    field,
    value: shownValue(keeps),
  })
}

function object(value: unknown, field: string): Input {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Input
  throw new EngineError('invalid_argument', `${field} must be an object, got ${printed(value)}`, {
    field,
    value: shownValue(value),
  })
}

export function oneOf<T extends string>(values: readonly T[], value: unknown, field: string): T {
  const found = values.find((candidate) => candidate === value)
  if (found !== undefined) return found
  throw new EngineError('invalid_argument', `${field} must be one of ${values.join(', ')}, got ${printed(value)}`, {
    field,
    value: shownValue(value),
    limit: values,
  })
}
