// Fields of definitions to protobuf messages and back.
import { assert, EngineError } from '../errors.ts'
import { choiceOf, numberOf, poolings, precisions, spaceTypes, sparseModels } from '../model/choices.ts'
import {
  type DenseSchemaParams,
  type EmbedSchema,
  type FieldSchema,
  rulesNewest,
  type TextFieldSchema,
} from '../model/schema.ts'
import { analyzerVersions } from '../text/params.ts'
import type { Message } from './schema.ts'

/** The protobuf message of a field of a definition. */
export function fieldToMessage(field: FieldSchema): Record<string, unknown> {
  if (field.kind === 'sparse') {
    return {
      kind: 2,
      name: field.name,
      sparseModel: numberOf(sparseModels, field.params.model),
      sparseDimension: field.params.dimension,
    }
  }
  if (field.kind === 'text') return textFieldToMessage(field)
  const { name } = field
  if (field.kind === 'dense') return { kind: 1, name, ...denseParamsToMessage(field.params) }
  return { kind: 3, name, ...denseParamsToMessage(field.params), pooling: numberOf(poolings, field.params.pooling) }
}

function textFieldToMessage({ name, params }: TextFieldSchema): Record<string, unknown> {
  const { language, analyzer, k1, b, stopWords, keptWords, prefixes } = params
  return {
    kind: 4,
    name,
    language,
    analyzer,
    k1,
    b,
    ...(stopWords && { wordLists: ownStopWords, stopWords }),
    ...(keptWords && { keptWords }),
    ...(prefixes && { prefixMin: prefixes.min, prefixMax: prefixes.max }),
  }
}

/** Of `word_lists`: the list of stop words is that of the field, also if it is empty. */
const ownStopWords = 1

function textFieldFromMessage(message: Message): TextFieldSchema {
  const { name, language, analyzer, k1, b, wordLists, stopWords, keptWords, prefixMin: min, prefixMax: max } = message
  if (!analyzerVersions.includes(analyzer)) {
    const message = `an analyzer of version ${analyzer} is newer than ${analyzerVersions.at(-1)}`
    throw new EngineError('format_too_new', message, {
      field: 'analyzer',
      value: analyzer,
      limit: analyzerVersions.at(-1),
    })
  }
  return {
    kind: 'text',
    name,
    params: {
      language,
      analyzer,
      k1,
      b,
      ...(wordLists === ownStopWords && { stopWords }),
      ...(keptWords.length > 0 && { keptWords }),
      ...(max > 0 && { prefixes: { min, max } }),
    },
  }
}

function denseParamsToMessage(params: DenseSchemaParams) {
  const { dimension, spaceType, precision, M, efConstruction, rules, keepOriginals, recall, embed } = params
  return {
    dimension,
    spaceType: numberOf(spaceTypes, spaceType),
    precision: numberOf(precisions, precision),
    m: M,
    efConstruction,
    ...(rules !== undefined && { rules }),
    ...(keepOriginals === false && { originals: originalsNotKept }),
    ...(recall !== undefined && { recall }),
    ...(embed && { embedProvider: embed.provider, embedFrom: embed.from, embedModel: embed.model ?? '' }),
  }
}

const originalsNotKept = 2

/** Throws format_too_new. */
export function fieldFromMessage(message: Message): FieldSchema {
  if (message.kind === 2) {
    return {
      kind: 'sparse',
      name: message.name,
      params: { model: choiceOf(sparseModels, message.sparseModel), dimension: message.sparseDimension },
    }
  }
  if (message.kind === 4) return textFieldFromMessage(message)
  assert(message.kind === 1 || message.kind === 3, 'a field is dense, sparse, text or multi-vector')
  const params = {
    dimension: message.dimension as number,
    spaceType: choiceOf(spaceTypes, message.spaceType),
    precision: choiceOf(precisions, message.precision),
    M: message.m as number,
    efConstruction: message.efConstruction as number,
    ...(message.rules > 1 && { rules: knownRules(message.rules) }),
    ...(message.originals === originalsNotKept && { keepOriginals: false as const }),
    ...(message.recall > 0 && { recall: message.recall as number }),
    ...embedFromMessage(message),
  }
  if (message.kind === 1) return { kind: 'dense', name: message.name, params }
  return { kind: 'multi', name: message.name, params: { ...params, pooling: choiceOf(poolings, message.pooling) } }
}

function embedFromMessage({ embedProvider: provider, embedFrom: from, embedModel: model }: Message) {
  if (provider === '') return {}
  return { embed: { provider, from, ...(model !== '' && { model }) } as EmbedSchema }
}

function knownRules(rules: number): number {
  if (rules <= rulesNewest) return rules
  const message = `a graph by rules ${rules} is newer than ${rulesNewest}`
  throw new EngineError('format_too_new', message, { field: 'rules', value: rules, limit: rulesNewest })
}
