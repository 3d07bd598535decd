//!tilelab block=(32,1) grid=(ceil(Width/32),1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int const col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < Width) {
        for (int row = 0; row < Width; row++) {
            float Pvalue = 0.0f;
            for (int i = 0; i < Width; i++)
                Pvalue += M[row * Width + i] * N[i * Width + col];
            P[row * Width + col] = Pvalue;
        }
    }
}
