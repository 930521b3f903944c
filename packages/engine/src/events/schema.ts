// events.proto as protobufjs descriptors. A test parses events.proto and compares, so the two cannot drift apart.
import protobuf from 'protobufjs/light.js'

const field = (id: number, type: string, rule?: 'repeated') => (rule ? { id, type, rule } : { id, type })

/** The messages of events.proto, in the form protobufjs calls JSON descriptors. */
export const eventDescriptors = {
  CollectionCreated: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      databaseId: field(3, 'uint32'),
      name: field(4, 'string'),
      fields: field(5, 'Field', 'repeated'),
      hashSeedLow: field(6, 'fixed32'),
      hashSeedHigh: field(7, 'fixed32'),
      ttlSeconds: field(16, 'double'),
    },
  },
  Field: {
    fields: {
      kind: field(1, 'uint32'),
      name: field(2, 'string'),
      dimension: field(3, 'uint32'),
      spaceType: field(4, 'uint32'),
      precision: field(5, 'uint32'),
      m: field(6, 'uint32'),
      efConstruction: field(7, 'uint32'),
      sparseModel: field(8, 'uint32'),
      sparseDimension: field(9, 'double'),
      pooling: field(10, 'uint32'),
      rules: field(11, 'uint32'),
      originals: field(12, 'uint32'),
      recall: field(13, 'double'),
      language: field(14, 'string'),
      analyzer: field(15, 'uint32'),
      k1: field(16, 'double'),
      b: field(17, 'double'),
      wordLists: field(18, 'uint32'),
      stopWords: field(19, 'string', 'repeated'),
      keptWords: field(20, 'string', 'repeated'),
      prefixMin: field(21, 'uint32'),
      prefixMax: field(22, 'uint32'),
      embedProvider: field(23, 'string'),
      embedFrom: field(24, 'string'),
      embedModel: field(25, 'string'),
    },
  },
  CollectionRestored: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      databaseId: field(3, 'uint32'),
      name: field(4, 'string'),
      fields: field(5, 'Field', 'repeated'),
      hashSeedLow: field(6, 'fixed32'),
      hashSeedHigh: field(7, 'fixed32'),
      importId: field(8, 'string'),
      imageSha256: field(9, 'string'),
      digest: field(10, 'string'),
      parentId: field(11, 'uint32'),
      parentLsn: field(12, 'double'),
    },
  },
  CollectionDropped: { fields: { timeMs: field(1, 'double'), collectionId: field(2, 'uint32') } },
  ObjectsUpserted: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      ids: field(3, 'string', 'repeated'),
      metas: field(4, 'bytes', 'repeated'),
      filters: field(5, 'string', 'repeated'),
      dense: field(6, 'DenseColumn', 'repeated'),
      sparse: field(7, 'SparseColumn', 'repeated'),
      multi: field(8, 'MultiColumn', 'repeated'),
      text: field(9, 'TextColumn', 'repeated'),
    },
  },
  ObjectsRestored: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      ids: field(3, 'string', 'repeated'),
      metas: field(4, 'bytes', 'repeated'),
      filters: field(5, 'string', 'repeated'),
      dense: field(6, 'DenseColumn', 'repeated'),
      sparse: field(7, 'SparseColumn', 'repeated'),
      multi: field(8, 'MultiColumn', 'repeated'),
      text: field(9, 'TextColumn', 'repeated'),
      deleted: field(10, 'string', 'repeated'),
      asOfLsn: field(11, 'double'),
    },
  },
  DenseColumn: {
    fields: {
      field: field(1, 'uint32'),
      objects: field(2, 'uint32', 'repeated'),
      vectors: field(3, 'bytes'),
      norms: field(4, 'bytes'),
      forms: field(5, 'bytes'),
    },
  },
  SparseColumn: {
    fields: {
      field: field(1, 'uint32'),
      objects: field(2, 'uint32', 'repeated'),
      counts: field(3, 'uint32', 'repeated'),
      indices: field(4, 'bytes'),
      values: field(5, 'bytes'),
    },
  },
  TextColumn: {
    fields: {
      field: field(1, 'uint32'),
      objects: field(2, 'uint32', 'repeated'),
      texts: field(3, 'string', 'repeated'),
    },
  },
  MultiColumn: {
    fields: {
      field: field(1, 'uint32'),
      objects: field(2, 'uint32', 'repeated'),
      counts: field(3, 'uint32', 'repeated'),
      vectors: field(4, 'bytes'),
    },
  },
  CollectionRebuilt: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      fields: field(3, 'Field', 'repeated'),
    },
  },
  FieldsChanged: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      fields: field(3, 'Field', 'repeated'),
      ttlSeconds: field(16, 'double'),
    },
  },
  ObjectsDeleted: {
    fields: { timeMs: field(1, 'double'), collectionId: field(2, 'uint32'), ids: field(3, 'string', 'repeated') },
  },
  ObjectsExpired: {
    fields: { timeMs: field(1, 'double'), collectionId: field(2, 'uint32'), ids: field(3, 'string', 'repeated') },
  },
  ExpiriesCleared: { fields: { timeMs: field(1, 'double'), collectionId: field(2, 'uint32') } },
  FiltersReplaced: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      ids: field(3, 'string', 'repeated'),
      filters: field(4, 'string', 'repeated'),
    },
  },
  DatabaseCreated: {
    fields: {
      timeMs: field(1, 'double'),
      databaseId: field(3, 'uint32'),
      name: field(4, 'string'),
      type: field(5, 'uint32'),
      token: field(6, 'Token', 'repeated'),
    },
  },
  Token: { fields: { name: field(1, 'string'), kind: field(2, 'uint32'), hash: field(3, 'bytes') } },
  DatabaseDropped: {
    fields: {
      timeMs: field(1, 'double'),
      collectionIds: field(2, 'uint32', 'repeated'),
      databaseId: field(3, 'uint32'),
    },
  },
  DatabaseChanged: {
    fields: {
      timeMs: field(1, 'double'),
      databaseId: field(3, 'uint32'),
      type: field(4, 'uint32'),
      active: field(5, 'bool'),
    },
  },
  TokenPut: { fields: { timeMs: field(1, 'double'), databaseId: field(3, 'uint32'), token: field(4, 'Token') } },
  TokenDropped: { fields: { timeMs: field(1, 'double'), databaseId: field(3, 'uint32'), name: field(4, 'string') } },
  SettingPut: { fields: { timeMs: field(1, 'double'), key: field(3, 'string'), value: field(4, 'string') } },
  CursorPut: {
    fields: {
      timeMs: field(1, 'double'),
      databaseId: field(3, 'uint32'),
      name: field(4, 'string'),
      lsn: field(5, 'double'),
    },
  },
  CursorDropped: { fields: { timeMs: field(1, 'double'), databaseId: field(3, 'uint32'), name: field(4, 'string') } },
  AliasPut: {
    fields: {
      timeMs: field(1, 'double'),
      databaseId: field(3, 'uint32'),
      name: field(4, 'string'),
      targetId: field(5, 'uint32'),
    },
  },
  AliasDropped: { fields: { timeMs: field(1, 'double'), databaseId: field(3, 'uint32'), name: field(4, 'string') } },
  CollectionPromoted: {
    fields: {
      timeMs: field(1, 'double'),
      databaseId: field(3, 'uint32'),
      promotedId: field(4, 'uint32'),
      replacedId: field(5, 'uint32'),
      keptAs: field(6, 'string'),
    },
  },
  ObjectsPatched: {
    fields: {
      timeMs: field(1, 'double'),
      collectionId: field(2, 'uint32'),
      ids: field(3, 'string', 'repeated'),
      metas: field(4, 'bytes', 'repeated'),
      filters: field(5, 'string', 'repeated'),
    },
  },
  RequestAnswered: { fields: { timeMs: field(1, 'double') } },
  WithAuthor: { fields: { author: field(14, 'Author') } },
  Author: { fields: { token: field(1, 'string'), actor: field(2, 'string') } },
  WithRequest: { fields: { request: field(15, 'Request') } },
  Request: { fields: { id: field(1, 'bytes'), digest: field(2, 'bytes'), facts: field(3, 'string') } },
} as const

const root = protobuf.Root.fromJSON({ nested: { annal: { nested: eventDescriptors } } })

/** The protobufjs type of one message. */
export function messageType(name: keyof typeof eventDescriptors): protobuf.Type {
  return root.lookupType(`annal.${name}`)
}

/** The result of decode: protobufjs returns plain values by field name, and defaults of absent fields through the prototype. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the schema above; the casts of the codecs narrow it.
export type Message = any
