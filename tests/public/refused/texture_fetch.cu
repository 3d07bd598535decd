__device__ cudaTextureObject_t texA;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < Width && c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += tex1Dfetch<float>(texA, r * Width + k) * N[k * Width + c];
        P[r * Width + c] = s;
    }
}
