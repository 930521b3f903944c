// The results of a collection.
import type {
  AsOfMoment,
  ByMember,
  FieldName,
  Fields,
  FieldType,
  FoundObject,
  Fused,
  HitGroup,
  JsonObject,
  SearchReport,
  VectorRow,
} from './model.ts'
import type { RawMeta, StoredObject } from './stored-object.ts'

/** One neighbor. */
export interface SearchHit<Type extends FieldType = FieldType, Meta extends object | undefined = JsonObject | undefined>
  extends FoundObject<Type, Meta, VectorRow>,
    RawMeta {
  /** @deprecated Use members. */
  readonly vectors?: readonly Float32Array[] | undefined
}

/** A hit of a fused list, with its score and its ranks in the lists of the fields. */
export interface FusedHit<
  F extends Fields = Fields,
  Name extends FieldName<F> = FieldName<F>,
  Meta extends object | undefined = JsonObject | undefined,
> extends Fused<SearchHit<F[Name], Meta>, Name>,
    EarlierFusedHit {}

/** What a fused hit had before it had `hit` and `standings`. */
interface EarlierFusedHit {
  /** @deprecated Use hit.id. */
  readonly id: string
  /** @deprecated Use hit.meta. */
  readonly meta: JsonObject | undefined
  /** @deprecated Use hit.filter. */
  readonly filter: JsonObject
  /** @deprecated Use standings. */
  readonly fields: { readonly [field: string]: { readonly rank: number; readonly similarity: number } }
}

export function fusedHit({ hit, score, standings }: Fused<SearchHit>): FusedHit {
  const { id, meta, filter } = hit
  const fields = standings.map(({ field, rank, similarity }) => [field, { rank, similarity }] as const)
  return { hit, score, standings, id, meta, filter, fields: Object.fromEntries(fields) }
}

/** The result of a search, as of one version of the collection. */
export interface SearchResult<
  F extends Fields = Fields,
  Name extends FieldName<F> = FieldName<F>,
  Meta extends object | undefined = JsonObject | undefined,
> extends SearchReport<Name> {
  /** Hits for each requested field, best first. */
  readonly results: { readonly [Field in Name]: readonly SearchHit<F[Field], Meta>[] }
  /** Only with `fusion`: best first. */
  readonly fused?: readonly FusedHit<F, Name, Meta>[]
  /** Only with `groupBy`: the groups of each field, in the order of their best hits. */
  readonly groups?: { readonly [Field in Name]: readonly HitGroup<SearchHit<F[Field], Meta>>[] }
  /** Only with `groupBy` and `fusion`. */
  readonly fusedGroups?: readonly HitGroup<FusedHit<F, Name, Meta>>[]
}

/** The result of one of several searches. */
export interface BatchedResult<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined>
  extends SearchReport {
  /** Hits for each requested field, best first. */
  readonly results: ByMember<
    string extends keyof F
      ? { readonly [field: string]: readonly SearchHit<FieldType, Meta>[] }
      : { readonly [Field in FieldName<F>]?: readonly SearchHit<F[Field], Meta>[] }
  >
  /** Only with `fusion`: best first. */
  readonly fused?: readonly FusedHit<F, FieldName<F>, Meta>[]
  /** Only with `groupBy`: the groups of each field, in the order of their best hits. */
  readonly groups?: ByMember<
    string extends keyof F
      ? { readonly [field: string]: readonly HitGroup<SearchHit<FieldType, Meta>>[] }
      : { readonly [Field in FieldName<F>]?: readonly HitGroup<SearchHit<F[Field], Meta>>[] }
  >
  /** Only with `groupBy` and `fusion`. */
  readonly fusedGroups?: readonly HitGroup<FusedHit<F, FieldName<F>, Meta>>[]
}

/** A page of objects. */
export interface ScrollPage<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined> {
  readonly objects: readonly StoredObject<F, Meta>[]
  /** The cursor of the next page; undefined on the last page. */
  readonly cursor: string | undefined
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}
