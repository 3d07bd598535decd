__device__ unsigned int ready[1 << 16], drawn, over;
__device__ float handed[1 << 16];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int part;
    __shared__ float one;
    if (threadIdx.x == 0) {
        part = atomicAdd(&drawn, 1u);
        one = 0.0f;
        if (part > 0) {
            while (atomicAdd(&ready[part - 1], 0u) == 0);
            __threadfence();
            one = ((volatile float*)handed)[part - 1] - part;
            atomicExch(&ready[part - 1], 0u);
        }
        ((volatile float*)handed)[part] = one + part + 1;
        __threadfence();
        atomicExch(&ready[part], part + 1 < gridDim.x ? 1u : 0u);
        if (atomicAdd(&over, 1u) == gridDim.x - 1) {
            atomicExch(&drawn, 0u);
            atomicExch(&over, 0u);
        }
    }
    __syncthreads();
    int i = part * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i] + one;
}
