texture<float, 2, cudaReadModeElementType> texN;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < Width && c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[r * Width + k] * tex2D(texN, c, k);
        P[r * Width + c] = s;
    }
}
