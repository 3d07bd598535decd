__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t == 0) total = 0.0f;
    __syncthreads();
    float v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    atomicAdd(&total, v);
    if (t == blockDim.x - 1) output[blockIdx.x] = total;
}
