// global total reset each block
__device__ float total[4096];
__global__ void reduceKernel(float* input, float* output, int n) {
    int t = threadIdx.x;
    // all blocks reset all totals, then only their own block waits
    for (int b = t; b < gridDim.x; b += blockDim.x) atomicExch(&output[b], 0.0f);
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + t;
    float v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    atomicAdd(&output[blockIdx.x], v);
}
