// Loaded first (`--import`): this process uses the build of the kernel without relaxed SIMD.
WebAssembly.validate = () => false
