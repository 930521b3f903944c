// @annal/client/judging: how good searches are against judged queries. `annal evaluate` and the dashboard compute with it; so can programs.
export {
  type Comparison,
  type Comparisons,
  compareSettings,
  differenceOf,
  type JudgedResult,
  meansOf,
  mostDifferent,
  type RandomizationOptions,
} from './compare-settings.ts'
export { type GivenQuery, type JudgedQueries, type NamedLines, readJudgedQueries } from './judged-queries.ts'
export { JudgingError } from './judging-error.ts'
export {
  type JudgedQuery,
  type MeasureOptions,
  measureSettings,
  type Ranked,
  type SearchMany,
  type Settings,
} from './measure-settings.ts'
export { type Grades, type MeasureName, type Measures, measure, measureNames } from './metrics.ts'
export { type FieldKind, type FieldKinds, fieldKinds, parseSetting, type Setting } from './setting.ts'
export { type Interval, meanInterval, randomizationTest, type Significance } from './significance.ts'
