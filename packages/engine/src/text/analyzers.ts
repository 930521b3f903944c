// The analyzers of this process. Their tables and stemmers are half a megabyte of code, so they are loaded with the first collection that has
// a text field.
import { assert } from '../errors.ts'
import type { Analyzer, AnalyzerParams } from './params.ts'

let loaded: typeof import('./analyzer.ts') | undefined

/** Must have resolved before texts are split. */
export async function loadAnalyzers(): Promise<void> {
  loaded ??= await import('./analyzer.ts')
}

/** Analyzers are kept by their params, so asking again is cheap. Throws EngineError for an unknown version. */
export function analyzerOf(params: AnalyzerParams): Analyzer {
  return known().analyzerOf(params)
}

/** Whether a term of a query is one character of a script that is indexed as bigrams: then it is searched by prefix. */
export function isSearchedByPrefix(term: string): boolean {
  return known().isSearchedByPrefix(term)
}

function known(): typeof import('./analyzer.ts') {
  assert(loaded !== undefined, 'analyzers are loaded with the first text field')
  return loaded
}
