//!tilelab block=(64) grid=(1, Width) shared=4*Width
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    extern __shared__ float row_of_M[];
    int row = blockIdx.y;
    for (int k = threadIdx.x; k < Width; k += blockDim.x) row_of_M[k] = M[row * Width + k];
    __syncthreads();
    for (int col = threadIdx.x; col < Width; col += blockDim.x) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += row_of_M[k] * N[k * Width + col];
        P[row * Width + col] = s;
    }
}
