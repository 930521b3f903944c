// The objects that users store and read: id, meta, filter values, one value for each field.
import type { ByField, Fields, FieldType } from './fields.ts'
import type { Filter, FilterValues } from './filter.ts'
import type { JsonObject } from './json.ts'

/** Sparse terms: an index and a weight for each. */
export interface SparseVector {
  /** Unique, each below the field's dimension. */
  readonly indices: ArrayLike<number>
  /** As many as indices; finite. */
  readonly values: ArrayLike<number>
}

/**
 * A vector with a norm that is kept and returned with it. In a cosine field the norm says what the vector was divided by: the two
 * multiplied are the vector that was given, unless the norm is 1 or the vector's own length.
 */
export interface UnitVector {
  readonly vector: ArrayLike<number>
  readonly norm: number
}

/** Vectors of a multi-vector field, 1 to 2,048; a single vector is one member. */
export type MultiVector = ArrayLike<ArrayLike<number>>

/** What an object has in a field of each type. */
export interface FieldValues {
  readonly vector: ArrayLike<number> | UnitVector
  readonly sparse: SparseVector
  /** Well-formed text of at most 512 KiB of UTF-8. */
  readonly text: string
  readonly multi_vector: MultiVector | ArrayLike<number>
}

/** What an object has in its fields where vectors come without norms, as they do over HTTP. */
export interface PlainFieldValues extends FieldValues {
  readonly vector: ArrayLike<number>
}

/** The value of an object in a field of this type: a vector, sparse terms, several vectors, or a text. */
export type FieldValue<Type extends FieldType = FieldType> = FieldValues[Type]

/** Optional where the type of metadata allows objects without any, as it does unless `withMetadata` says otherwise. */
type MetaInput<Meta> = undefined extends Meta
  ? {
      /** An object is stored as JSON. Bytes are stored and returned unchanged. */
      readonly meta?: Meta | Uint8Array | undefined
    }
  : {
      /** Stored as JSON. */
      readonly meta: Meta
    }

/** What must hold for the stored object, as of every earlier write. All given conditions must hold. */
export interface WriteConditions {
  /** There is no object with this id. */
  readonly ifAbsent?: boolean | undefined
  /** `lsn` of the stored object; 0 if there must be none. */
  readonly ifLsn?: number | undefined
  /** There is an object, and its filter values match. */
  readonly ifMatch?: Filter | undefined
}

/** When an object expires. At most one of the two is given. */
export interface WriteExpiry {
  /** Whole seconds from the write on, 1 to 3,155,760,000; null: never, whatever the default of the collection is. */
  readonly ttlSeconds?: number | null | undefined
  /** A time in the form of RFC 3339, or in milliseconds since 1970; null: never. */
  readonly expiresAt?: number | string | null | undefined
}

/** The result for one object of a write. */
export interface WriteResult {
  readonly id: string
  /** `conflict`: a condition did not hold. `error`: the patch does not fit the object, or its text has no vector. */
  readonly status: 'ok' | 'conflict' | 'error'
  /** The LSN of the write where it changed the object, and otherwise that of the stored object; 0 if there is none. */
  readonly lsn: number
  /** Only with `error`. */
  readonly error?: { readonly code: string; readonly message: string; readonly field?: string }
}

/** What a conditional write returns in addition. */
export interface ConditionalReply {
  /** In the order of the call; only if an object had a condition, or the call was atomic, or for a patch. */
  readonly results?: readonly WriteResult[]
  /** Only with a claim as `requestKey`: an atomic write changed nothing. Without a claim it throws `conflict`. */
  readonly isRefused?: true
}

/** Changes of the meta, the filter values, and the expiry of one object. Its vectors stay, and so does what the patch does not give. */
export interface ObjectPatch extends WriteConditions, WriteExpiry {
  readonly id: string
  /** Merged into the stored meta; null removes a key. */
  readonly meta?: JsonObject | undefined
  /** Merged into the stored filter values; null removes a key. */
  readonly filter?: FilterValues | undefined
  /** Added to filter values. A missing key counts as 0; a value that is not a number is an error of the object. */
  readonly increment?: { readonly [key: string]: number } | undefined
}

/** An object to store. It replaces the whole object that has its id. `Values` is what fields of each type take. */
export type ObjectInput<
  F extends Fields = Fields,
  Meta extends object | undefined = JsonObject | undefined,
  Values extends FieldValues = FieldValues,
> = WriteConditions &
  WriteExpiry & {
    /** 1 to 512 bytes of well-formed text, unique in the collection. */
    readonly id: string
    /** An object, or its JSON text, which is then returned unchanged. */
    readonly filter?: FilterValues | string | undefined
    /** A value for at least one field. */
    readonly fields: { readonly [Name in keyof F]?: Values[F[Name]] | undefined }
  } & MetaInput<Meta>

/** The whole filter of one object, in place of the one it has. */
export interface FilterUpdate {
  readonly id: string
  /** An object, or its JSON text; '' for an object without filter values. */
  readonly filter: FilterValues | string
}

/** Durable at `lsn`, and visible to every search that starts after it. */
export interface Acknowledgement {
  readonly lsn: number
  readonly durable: boolean
}

/** A stored object as the library and the client return it. `Row` is what they return for one vector. */
export interface ReadObject<F extends Fields, Meta extends object | undefined, Row> {
  readonly id: string
  /**
   * LSN of the record of the log that last wrote the object: an upsert, or an update of its filter. In a collection that a restore or a
   * clone created, objects that were not written since have the LSN of that record.
   */
  readonly lsn: number
  /** Undefined when the object has no metadata, or metadata that is not a JSON object. */
  readonly meta: Meta
  readonly filter: JsonObject
  /** When the object expires, in milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number | undefined
  /** Dense fields of the object. */
  readonly dense: ByField<F, 'vector', Row>
  readonly sparse: ByField<F, 'sparse', SparseRow>
  /** Texts of the object, as given. */
  readonly text: ByField<F, 'text', string>
  /** Multi-vector fields of the object: their members in the given order. */
  readonly multi: ByField<F, 'multi_vector', readonly Row[]>
}

/** An object that was read. Meta and filter are decoded on access; their stored bytes are available too. */
export interface StoredObject<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined>
  extends ReadObject<F, Meta, DenseRow> {
  /** The stored bytes: JSON, plain or in zlib, or what was given as bytes. Empty when the object has no metadata. */
  readonly metaBytes: Uint8Array
  /** '' when the object has no filter. */
  readonly filterText: string
}

/** Sparse terms that were read. */
export interface SparseRow {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** A vector that was read. */
export interface VectorRow {
  /** The vector as given, bit for bit, unless the field keeps no originals. */
  readonly vector: Float32Array
  /** The norm that came with the vector, or else its length. */
  readonly norm: number
}

/** A dense vector as it is stored, in both forms that clients use. */
export interface DenseRow extends VectorRow {
  /**
   * As a client sent it that divides cosine vectors by their length: bit for bit where it came with a norm, divided by its length
   * where it came without. The same as `vector` with l2 and ip.
   */
  readonly row: Float32Array
}

/** A collection: its fields, counts, memory, and state. */
export interface CollectionDescription {
  readonly name: string
  readonly fields: readonly FieldDescription[]
  /** The default expiry of objects; absent if there is none. */
  readonly ttlSeconds?: number
  readonly objects: number
  /** Milliseconds since 1970, from the event that created it. */
  readonly createdAt: number
  readonly lsn: number
  /** Bytes of memory by part. */
  readonly memory: { readonly [part: string]: number }
  readonly condition: 'ready' | 'loading' | 'quarantined'
  readonly reason?: string
}

/** A field with its parameters and the number of objects that have a value in it. */
export type FieldDescription = import('./schema.ts').FieldSchema & { readonly elements: number }
