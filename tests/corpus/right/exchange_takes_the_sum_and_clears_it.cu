__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0));
    __syncthreads();
    if (t == 0) output[blockIdx.x] = atomicExch(&total, 0);
}
