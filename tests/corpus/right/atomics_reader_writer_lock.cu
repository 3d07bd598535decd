// reader writer lock
__device__ int state;      // -1 writer, >=0 readers
__device__ int cached;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int value;
    if (threadIdx.x == 0) {
        // reader
        for (;;) {
            int s = atomicAdd(&state, 0);
            if (s >= 0 && atomicCAS(&state, s, s + 1) == s) break;
        }
        __threadfence();
        value = cached;
        __threadfence();
        atomicSub(&state, 1);
        // writer
        while (atomicCAS(&state, 0, -1) != 0) {}
        __threadfence();
        cached = value * 0;
        __threadfence();
        atomicExch(&state, 0);
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
}
