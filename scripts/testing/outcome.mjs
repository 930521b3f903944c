// What a run of test files amounts to, when some that failed next to others passed alone afterwards.

/**
 * Counts named tests. `again`: results of files that failed and then passed alone, by file. That is a test that depends on timing, so
 * its failure counts, unless `known` names the file with a reason.
 */
export function outcomeOf(results, again, known) {
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const result of results) {
    const second = again.get(result.file)
    const counted = second !== undefined && known[result.file] !== undefined ? second : result
    for (const kind of Object.keys(total)) total[kind] += counted[kind]
  }
  return total
}
