// Five accesses to global memory and four to shared memory, with the cost of each for a warp.

__global__ void foo_kernel(float* a, float* b, float* c, float* d, float* e) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float a_s[256];
    __shared__ float bc_s[4 * 256];

    // a: coalesced, 128 bytes in 4 sectors. a_s: 32 neighbouring cells in 32 banks, no conflict.
    a_s[threadIdx.x] = a[i];

    for (unsigned int j = 0; j < 4; ++j) {
        // bc_s: j * 256 is the same for all threads, and threadIdx.x gives neighbours: no conflict.
        bc_s[j * 256 + threadIdx.x] =
            // b: coalesced. The number added to i is the same for all threads, and a multiple of 32.
            b[j * blockDim.x * gridDim.x + i] +
            // c: not coalesced. Neighbours are 16 bytes apart: 512 bytes in 16 sectors. A quarter is used now.
            c[i * 4 + j];
    }
    __syncthreads();

    // d: coalesced, 4 whole sectors. They are in two segments of 128 bytes, because 8 elements are 32 bytes.
    // a_s: no conflict.
    d[i + 8] = a_s[threadIdx.x];

    // e: not coalesced. Neighbours are 32 bytes apart, so each of the 32 threads needs its own sector.
    // bc_s: the threads use only every fourth bank, 8 of the 32. Each bank serves 4 threads: a 4-way conflict.
    e[i * 8] = bc_s[threadIdx.x * 4];
}
