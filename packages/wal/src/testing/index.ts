export { type DiskCall, type DiskOperation, errnoError, type Fault, type FaultPlan } from './fault.ts'
export { faultVfs } from './fault-vfs.ts'
export { type LogCase, logSuite } from './log-suite.ts'
export { idle, ManualClock } from './manual-clock.ts'
export { pump } from './pump.ts'
export { chosenSeed, type Random, seededRandom } from './random.ts'
export type { ReplicatedLogCase, StoreUnderTest } from './replicated-log-case.ts'
export { replicatedLogSuite } from './replicated-log-suite.ts'
export { SimDirectory, type SimNode } from './sim-directory.ts'
export { SimDisk, type SimDiskOptions } from './sim-disk.ts'
export { SimFile, sectorBytes } from './sim-file.ts'
export {
  calmNetwork,
  type NetworkFaults,
  roughNetwork,
  SimClient,
  SimFrameStore,
  type SimStoreOptions,
} from './sim-frame-store.ts'
export { type Taken, takenByProcess } from './taken-by-process.ts'
export { type VfsCase, vfsSuite } from './vfs-suite.ts'
