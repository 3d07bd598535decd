__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ int taken;
    __shared__ float total;
    if (threadIdx.x % 32 == 0 && atomicExch(&taken, 1) != 1) total = 0;
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&total, (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0));
    __syncthreads();
    if (threadIdx.x == 0) output[blockIdx.x] = total;
}
