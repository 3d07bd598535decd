__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    __shared__ unsigned int arrived;
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t == 0) {
        total = 0.0f;
        arrived = 0;
    }
    __syncthreads();
    float v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    atomicAdd(&total, v);
    __threadfence_block();
    if (atomicAdd(&arrived, 1u) == blockDim.x - 1) {
        __threadfence_block();
        output[blockIdx.x] = total;
    }
}
