// Default values.
import type { Pooling, Precision, SpaceType, SparseModel } from './model/choices.ts'

// A collection.
export const spaceTypeDefault: SpaceType = 'cosine'
export const precisionDefault: Precision = 'int8'
export const mDefault = 16
export const efConstructionDefault = 128
export const sparseModelDefault: SparseModel = 'default'
export const poolingDefault: Pooling = 'mean'
export const languageDefault = 'none'
export const k1Default = 1.2
export const bDefault = 0.75

// A search.
export const topKDefault = 10
export const efDefault = 128
export const groupHitsDefault = 1

// Pages, counts and history.
export const scrollDefault = 100
export const facetValuesDefault = 10
export const recallSampleDefault = 100
export const versionsDefault = 100
export const eventsDefault = 100
export const activityBucketsDefault = 120
