// Five accesses to global memory and four to shared memory. Which are coalesced, and which have bank conflicts?
//
// Answer in the comments first. Then look:  tilelab analyze starter.cu --exercise foo-kernel

__global__ void foo_kernel(float* a, float* b, float* c, float* d, float* e) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float a_s[256];
    __shared__ float bc_s[4 * 256];

    // a: coalesced?            a_s: bank conflicts?
    a_s[threadIdx.x] = a[i];

    for (unsigned int j = 0; j < 4; ++j) {
        // bc_s: bank conflicts?
        bc_s[j * 256 + threadIdx.x] =
            b[j * blockDim.x * gridDim.x + i] +  // b: coalesced?
            c[i * 4 + j];                        // c: coalesced?
    }
    __syncthreads();

    // d: coalesced?            a_s: bank conflicts?
    d[i + 8] = a_s[threadIdx.x];

    // e: coalesced?            bc_s: bank conflicts?
    e[i * 8] = bc_s[threadIdx.x * 4];
}
