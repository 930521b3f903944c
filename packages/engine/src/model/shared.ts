// The types that the library and `@annal/client` share: definitions, objects, filters, queries, and results. The client takes them from
// here by path, and its build writes them into its own declarations, so there is one source and no dependency at run time.

export type { CalibratedCurve, CalibrateRequest, FieldCalibration, SearchRecall } from './calibration.ts'
export type { Pooling, Precision, SpaceType, SparseModel } from './choices.ts'
export type { DefaultChanges, FieldChange, FieldChanges, GraphChange, RebuildChanges } from './collection.ts'
export type {
  CollectionDefinition,
  DenseFieldDefinition,
  DenseParams,
  EmbedParams,
  ExactDefinition,
  FieldDefinition,
  FieldsOf,
  MultiVectorFieldDefinition,
  MultiVectorParams,
  SparseFieldDefinition,
  SparseParams,
  TextFieldDefinition,
  TextParams,
  UnknownOption,
} from './definition.ts'
export type { ByField, ByMember, FieldName, Fields, FieldType, GraphFieldName } from './fields.ts'
export type { Filter, FilterCondition, FilterOperator, FilterValue, FilterValues, Ordered } from './filter.ts'
export type { JsonObject, JsonValue } from './json.ts'
export type { AsOf, AsOfMoment } from './moment.ts'
export type {
  Acknowledgement,
  ConditionalReply,
  FilterUpdate,
  MultiVector,
  ObjectInput,
  ObjectPatch,
  PlainFieldValues,
  ReadObject,
  SparseRow,
  SparseVector,
  VectorRow,
  WriteConditions,
  WriteExpiry,
  WriteResult,
} from './object.ts'
export type {
  BatchedRequest,
  EmbeddedQuery,
  FieldQuery,
  Fusion,
  FuzzyClause,
  GroupBy,
  Highlight,
  PhraseClause,
  PrefixClause,
  QueryValues,
  SearchRequest,
  StoredQuery,
  TextClause,
  TextCondition,
  TextMatch,
  TextOperator,
  TextQuery,
  WordsClause,
} from './query.ts'
export type {
  ContentOptions,
  CountRequest,
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollRequest,
} from './reads.ts'
export type {
  Explanation,
  FieldExplanation,
  FoundObject,
  Fused,
  HitGroup,
  SearchReport,
  Standing,
} from './search-result.ts'
